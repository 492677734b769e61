import type { ReactNode } from 'react';
import { hub } from '../live/hub.js';
import { streamOf } from '../live/use-list.js';
import { Button } from './basics.js';

/** What stands in a view whose stream waits: a browser has few connections, and other tabs use them. */
export const CityPaused = ({ city, className = '' }: { readonly city: string; readonly className?: string }): ReactNode => (
  <p role="status" className={`flex items-center gap-3 text-sm text-warn ${className}`}>
    Other tabs follow so much that this one waits: what is here may be old.
    <Button onClick={() => hub.resume(streamOf(city))}>Follow again</Button>
  </p>
);
