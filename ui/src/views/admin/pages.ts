import { useState } from 'react';
import { readPages, type Items, type Query } from '../../api/pages.js';
import { useRead, type Reading } from './read.js';

interface Paged<T> extends Reading<Items<T>> {
  readonly showMore: () => void;
}

/** A list of which more is read when somebody asks for it, and all that was read again when something has changed. */
export function usePages<T>(path: string, query: Query, sources: Parameters<typeof useRead>[2] = {}): Paged<T> {
  const key = `${path} ${JSON.stringify(query)}`;
  const [open, setOpen] = useState({ key, pages: 1 });
  const pages = open.key === key ? open.pages : 1;
  const reading = useRead<Items<T>>(key, (signal) => readPages<T>(path, query, pages, signal), sources);
  return {
    ...reading,
    showMore: () => {
      setOpen({ key, pages: pages + 1 });
      // The next read is made with what is set by then.
      setTimeout(reading.again, 0);
    },
  };
}
