// A sign drawn as lines in the colour of its text.
export function Sign({
  path,
  size,
  className,
}: {
  path: string | undefined;
  size: number;
  className: string;
}) {
  return (
    <svg className={className} viewBox="0 0 24 24" width={size} height={size} aria-hidden="true">
      <path
        d={path}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.75"
        strokeLinejoin="round"
        strokeLinecap="round"
      />
    </svg>
  );
}
