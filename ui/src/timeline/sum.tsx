import type { ReactNode } from 'react';

export const Sum = ({ name, children }: { name: string; children: ReactNode }): ReactNode => (
  <div>
    <dt className="text-xs text-muted">{name}</dt>
    <dd className="text-base font-semibold tabular-nums">{children}</dd>
  </div>
);
