import type { ReactNode } from 'react';
import { useFocusBack } from '../lib/focus-back.js';

interface PaneProps {
  readonly label: string;
  /** The row of a list that it shows, where it is of one: keys may have gone on to another since it was opened. */
  readonly row?: string | undefined;
  readonly narrow?: boolean;
  readonly children: ReactNode;
}

/** What is open beside a list, or alone where there is no room for both. Once it is closed the focus is where it was opened. */
export function Pane({ label, row, narrow = false, children }: PaneProps): ReactNode {
  useFocusBack(row);
  return (
    <aside
      aria-label={label}
      className={`w-full overflow-auto border-l border-line bg-panel ${narrow ? 'lg:w-[28rem]' : 'lg:w-[30rem] xl:w-[36rem]'}`}
    >
      {children}
    </aside>
  );
}
