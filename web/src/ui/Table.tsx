// A plain table with a caption for those who do not see it; on a narrow screen it scrolls by itself.
import type { ReactNode } from "react";

export interface Column<T> {
  name: string;
  cell(row: T): ReactNode;
  /** Numbers stand to the right. */
  number?: boolean;
}

interface Props<T> {
  caption: string;
  columns: Column<T>[];
  rows: readonly T[];
  id(row: T): string;
}

export function Table<T>({ caption, columns, rows, id }: Props<T>) {
  return (
    // A group and no landmark: the section around it has a name already. It scrolls, so it can be reached.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls to the side.
    <div className="table-box" role="group" tabIndex={0} aria-label={caption}>
      <table className="table">
        <caption className="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" className={column.number ? "number" : undefined}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)}>
              {columns.map((column) => (
                <td key={column.name} className={column.number ? "number" : undefined}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
