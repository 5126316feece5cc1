// Tabs whose choice stands in the address, so that it can be linked and gone back to.
import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";

export interface Tab {
  path: string;
  words: ReactNode;
}

export function Tabs({ label, tabs }: { label: string; tabs: Tab[] }) {
  const [here] = useLocation();
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <Link key={tab.path} href={tab.path} aria-current={here === tab.path ? "page" : undefined}>
          {tab.words}
        </Link>
      ))}
    </nav>
  );
}
