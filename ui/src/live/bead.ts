import { useEffect, useState } from 'react';
import { get, inCity, part } from '../api/client.js';
import { readPages } from '../api/pages.js';
import type { Bead, LoggedEvent, Schemas } from '../api/types.js';
import { newerOf, type KeptBead } from '../lib/newer-bead.js';
import { hub } from './hub.js';
import { streamOf } from './use-list.js';

export type Dependency = Schemas['BeadDependency'];

/** What stands around it on one side, as far as it was read. */
export interface Side {
  readonly items: readonly Dependency[];
  readonly total: number;
}
export interface Around {
  readonly down: Side;
  readonly up: Side;
}

/** What depends on a bead, or what it depends on: mostly few, and with each press so many more. */
const FIRST = 100;
const MORE = 1000;

async function sideOf(path: string, direction: 'down' | 'up', presses: number, signal: AbortSignal): Promise<Side> {
  const limit = presses === 0 ? FIRST : MORE;
  const { items, total = items.length } = await readPages<Side['items'][number]>(
    `${path}/dependencies`,
    { direction, limit },
    presses || 1,
    signal,
  );
  return { items, total };
}

/** One bead, kept as its events tell it; what it depends on is read again when they name it. */
export function useBead(
  city: string,
  id: string,
  known: Bead | undefined,
): { bead: Bead | undefined; around: Around | undefined; error: unknown; again: () => void; more: () => void } {
  const [{ bead }, setKept] = useState<KeptBead>({ bead: known, doubted: false });
  const [around, setAround] = useState<Around>();
  const [error, setError] = useState<unknown>();
  const [turn, setTurn] = useState(0);
  const [presses, setPresses] = useState(0);
  useEffect(() => {
    return hub.join(streamOf(city), {
      live: (gap) => {
        if (gap) setKept((kept) => ({ ...kept, doubted: true }));
        setTurn((before) => before + 1);
      },
      state: (state) => {
        if (state.kind === 'missing') setTurn((before) => before + 1);
      },
      frame: ({ event, data }) => {
        if (event !== 'event') return;
        const told = data as LoggedEvent & { payload: { bead?: Bead } };
        const next = told.payload.bead;
        // What a client has recorded has no revision, and says nothing of what is there.
        if (!told.type.startsWith('bead.') || next?.id !== id || next.revision === undefined) return;
        if (told.type === 'bead.deleted') setError(new Error(`${id} was deleted`));
        else {
          setKept((kept) => newerOf(kept, next));
          setTurn((before) => before + 1);
        }
      },
    });
  }, [city, id]);
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const path = inCity(city, `bead/${part(id)}`);
    const timer = setTimeout(() => {
      Promise.all([get<Bead>(path, { signal }), sideOf(path, 'down', presses, signal), sideOf(path, 'up', presses, signal)])
        .then(([found, down, up]) => {
          setKept((kept) => newerOf(kept, found));
          setAround({ down, up });
          setError(undefined);
        })
        .catch((refused: unknown) => {
          if (!signal.aborted) setError(refused);
        });
    }, 50);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [city, id, turn, presses]);
  return { bead, around, error, again: () => setTurn((before) => before + 1), more: () => setPresses((before) => before + 1) };
}
