import type { ReactNode } from 'react';
import { copy } from './copy.js';
import { Icon } from './icons.js';

export const copyId = (id: string): void => void copy(id, id);

/** An id that is a link cannot be selected: it is copied. */
export const CopyId = ({ id }: { id: string }): ReactNode => (
  <button
    type="button"
    aria-label={`Copy ${id}`}
    title={`Copy ${id}`}
    onClick={() => copyId(id)}
    className="-m-1 inline-flex size-6 items-center justify-center rounded text-muted hover:bg-raised hover:text-ink pointer-coarse:size-11"
  >
    <Icon name="copy" size={13} />
  </button>
);
