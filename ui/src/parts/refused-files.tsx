import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Schemas } from '../api/types.js';
import { visible } from '../lib/text.js';
import { Age } from './basics.js';

interface Props {
  readonly rejected: Schemas['ConfigRejection'];
  /** The one that goes on counting. */
  readonly revision?: number | undefined;
  /** Where it is shown elsewhere: the city whose configuration it leads to. */
  readonly link?: string;
}

/** Files that were refused: the revision before goes on, and each mistake has its file and its line. */
export function RefusedFiles({ rejected, revision, link }: Props): ReactNode {
  const { errors, errors_total, since } = rejected;
  return (
    <section
      aria-label="Files that were refused"
      data-rejected
      className="flex flex-col gap-2 rounded-xl border border-line bg-badtint px-4 py-3"
    >
      <h2 className="font-semibold text-bad">The files were refused</h2>
      <p className="text-sm">
        For <Age at={since} />
        {revision === undefined ? '' : `; revision ${revision} goes on counting`}. Mend what follows: the files are read when they change.
        {link !== undefined && (
          <>
            {' '}
            <Link to="/c/$city/config" params={{ city: link }} className="text-accent underline">
              What counts until then
            </Link>
          </>
        )}
      </p>
      <ul className="flex flex-col gap-1">
        {errors.map((error) => (
          <li key={error} className="words font-mono text-[13px]">
            {visible(error)}
          </li>
        ))}
      </ul>
      {errors_total > errors.length && <p className="text-sm">and {errors_total - errors.length} more</p>}
    </section>
  );
}
