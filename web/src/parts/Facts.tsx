import type { ReactNode } from "react";

/** Names and values, one under the other. */
export function Facts({ of }: { of: [name: ReactNode, value: ReactNode][] }) {
  return (
    <dl className="facts">
      {of.map(([name, value], i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order is fixed and names may be elements
        <div key={i}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
