import type { ReactNode } from 'react';

const DAY_MS = 86_400_000;

/** Of when it is what somebody looks at, while nothing newer comes. */
export const AsOf = ({ at }: { readonly at: number }): ReactNode => {
  const time = new Date(at);
  return (
    <span data-as-of className="tabular-nums">
      What is here is as of {Date.now() - at < DAY_MS ? time.toLocaleTimeString() : time.toLocaleString()}.
    </span>
  );
};

interface Known {
  readonly error: unknown;
  /** When it was read last; 0 before that. */
  readonly asOf: number;
}

/** Since when nothing newer is known of what was read: reads fail. */
export const oldSince = ({ error, asOf }: Known): number | undefined => (error === undefined || asOf === 0 ? undefined : asOf);
