import { useEffect, useState, type ReactNode } from 'react';
import { get, inCity, part } from '../api/client.js';
import type { Bead, LoggedEvent } from '../api/types.js';
import { changedBy } from '../lib/conflict.js';
import { visible } from '../lib/text.js';
import { Button, Problem } from './basics.js';

interface Props {
  readonly city: string;
  /** What the change was made on. */
  readonly base: Bead;
  readonly mine: Partial<Bead>;
  /** The revision that the change was refused for; another one is looked at anew. */
  readonly attempt: number;
  readonly onTheirs: () => void;
  /** Mine counts, on what they have made of it. */
  readonly onMine: (theirs: Bead) => void;
}

interface Theirs {
  readonly bead: Bead;
  readonly by: string | undefined;
}

/** Somebody else has changed it meanwhile: who, and both versions. Nothing of theirs is overwritten that was not shown. */
export function BeadConflict({ city, base, mine, attempt, onTheirs, onMine }: Props): ReactNode {
  const [theirs, setTheirs] = useState<Theirs>();
  const [error, setError] = useState<unknown>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    setTheirs(undefined);
    setError(undefined);
    Promise.all([
      get<Bead>(inCity(city, `bead/${part(base.id)}`), { signal }),
      get<{ items: LoggedEvent[] }>(inCity(city, 'events'), { query: { subject: base.id, limit: 10 }, signal }),
    ]).then(
      ([bead, { items }]) => setTheirs({ bead, by: items.find(({ type }) => type.startsWith('bead.'))?.actor }),
      (refused: unknown) => {
        if (!signal.aborted) setError(refused);
      },
    );
    return () => stop.abort();
  }, [city, base.id, attempt, turn]);
  const changes = theirs === undefined ? [] : changedBy(base, theirs.bead, mine);
  return (
    <div role="alert" className="flex flex-col gap-2 rounded-lg bg-warntint px-3 py-2 text-sm">
      <p className="text-warn">
        Somebody has changed this bead meanwhile{theirs?.by === undefined ? '' : `, at last ${visible(theirs.by)}`}.
        {theirs !== undefined && changes.every((one) => one.mine === undefined) && ' You change nothing that they have changed.'}
      </p>
      {error !== undefined && <Problem error={error} onRetry={() => setTurn((before) => before + 1)} />}
      <dl className="flex flex-col gap-2">
        {changes.map(({ name, theirs: now, mine: wanted }) => (
          <div key={name} data-changed={name}>
            <dt className="font-medium">{name}</dt>
            <dd className="words max-h-40 overflow-auto">
              <span className="text-muted">Theirs:</span> {now === '' ? 'nothing' : visible(now)}
            </dd>
            {wanted !== undefined && (
              <dd className="words max-h-40 overflow-auto">
                <span className="text-muted">Mine:</span> {wanted === '' ? 'nothing' : visible(wanted)}
              </dd>
            )}
          </div>
        ))}
      </dl>
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onTheirs}>Keep theirs</Button>
        <Button look="bad" disabled={theirs === undefined} onClick={() => theirs !== undefined && onMine(theirs.bead)}>
          Mine over theirs
        </Button>
      </div>
    </div>
  );
}
