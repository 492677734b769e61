import { useRef, useState, type ReactNode } from 'react';
import { newKey, Refusal } from '../../api/client.js';
import { isDecided } from '../../lib/wishes.js';
import { Button, Problem } from '../../parts/basics.js';

export interface Acting {
  /** The wish that is on its way. */
  readonly busy: string | undefined;
  readonly error: unknown;
  readonly said: Said | undefined;
  /**
   * Carries a wish out: `name` and the `values` that it is made with are the wish, and what is tried again under them has the same key, so that
   * the service does it once. What it gives is told, with a button that takes it back where there is one.
   */
  readonly run: (name: string, work: (key: string) => Promise<Said | string | void>, values?: unknown) => Promise<boolean>;
  readonly clear: () => void;
}

export interface Said {
  readonly text: string;
  readonly undo?: () => Promise<unknown>;
}

export function useAct(): Acting {
  const [busy, setBusy] = useState<string>();
  const [error, setError] = useState<unknown>();
  const [said, say] = useState<Said>();
  const keys = useRef(new Map<string, string>());
  const clear = (): void => {
    setError(undefined);
    say(undefined);
  };
  const run: Acting['run'] = async (name, work, values) => {
    const wish = JSON.stringify([name, values]);
    clear();
    setBusy(name);
    try {
      const key = keys.current.get(wish) ?? newKey();
      keys.current.set(wish, key);
      const told = await work(key);
      keys.current.delete(wish);
      if (told !== undefined) say(typeof told === 'string' ? { text: told } : told);
      return true;
    } catch (refused) {
      // What was decided is asked under another key; what nobody knows the end of is not.
      if (isDecided(refused)) keys.current.delete(wish);
      setError(refused);
      return false;
    } finally {
      setBusy(undefined);
    }
  };
  return { busy, error, said, run, clear };
}

/** What has come of what was done. */
export function Told({ acting }: { acting: Acting }): ReactNode {
  const { error, said, run, clear } = acting;
  if (error !== undefined) return <Problem error={error} onRetry={undefined} />;
  if (said === undefined) return null;
  const { undo } = said;
  return (
    <div role="status" className="flex flex-wrap items-center gap-3 rounded-lg border border-line bg-tint px-3 py-1.5 text-sm">
      <span className="words min-w-0 flex-1">{said.text}</span>
      {undo !== undefined && <Button onClick={() => void run('undo', async () => void (await undo()))}>Undo</Button>}
      <Button look="quiet" onClick={clear}>
        Dismiss
      </Button>
    </div>
  );
}

/** A change that was made on an older revision: whose counts is asked. */
export function Stale({ error, onMine, onTheirs }: { error: unknown; onMine: () => void; onTheirs: () => void }): ReactNode {
  return (
    <div role="alert" className="flex flex-wrap items-center gap-2 rounded-lg bg-warntint px-3 py-2 text-sm text-warn">
      <span className="words min-w-0 flex-1 basis-60">
        Somebody has changed the configuration meanwhile: {error instanceof Error ? error.message : ''}
      </span>
      <Button onClick={onTheirs}>Keep theirs</Button>
      <Button look="bad" onClick={onMine}>
        Mine over theirs
      </Button>
    </div>
  );
}

export const isStale = (error: unknown): boolean => error instanceof Refusal && error.status === 412;
