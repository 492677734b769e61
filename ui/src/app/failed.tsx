import { Link, type ErrorComponentProps } from '@tanstack/react-router';
import { useEffect, type ReactNode } from 'react';
import { MissingPart, renew } from '../lib/part.js';
import { Button, Empty, Problem } from '../parts/basics.js';

/** A view that has broken takes no other with it. */
export function Failed({ error, reset }: ErrorComponentProps): ReactNode {
  const missing = error instanceof MissingPart;
  useEffect(() => {
    if (missing) void renew(false);
  }, [missing]);
  return (
    <div className="p-4">
      <Problem error={error} />
      <Button className="mt-3" onClick={missing ? () => void renew(true) : reset}>
        Try again
      </Button>
    </div>
  );
}

export const NotFound = (): ReactNode => (
  <Empty title="There is no such view">
    <Link to="/" className="text-accent underline">
      Go to the inbox
    </Link>
  </Empty>
);
