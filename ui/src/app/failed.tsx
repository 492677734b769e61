import { Link, type ErrorComponentProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Button, Empty, Problem } from '../parts/basics.js';

/** A view that has broken takes no other with it. */
export const Failed = ({ error, reset }: ErrorComponentProps): ReactNode => (
  <div className="p-4">
    <Problem error={error} />
    <Button className="mt-3" onClick={reset}>
      Try again
    </Button>
  </div>
);

export const NotFound = (): ReactNode => (
  <Empty title="There is no such view">
    <Link to="/" className="text-accent underline">
      Go to the inbox
    </Link>
  </Empty>
);
