import { useCallback, useEffect, useRef, useState } from 'react';
import { isForbidden } from '../../api/client.js';
import { keyNow, onKeyChange } from '../../api/key.js';
import type { LoggedEvent } from '../../api/types.js';
import { hub } from '../../live/hub.js';
import type { StreamState } from '../../live/messages.js';
import { streamOf } from '../../live/use-list.js';

/** What was read last stays when a read fails, with the time from which it is. */
export interface Reading<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  /** When `data` was read. */
  readonly asOf: number;
  readonly again: () => void;
}

interface Sources {
  /** Events of this city's stream on which it is read again: joined first, read second. */
  readonly city?: string;
  readonly on?: RegExp;
  /** Told of each event of the stream, of whatever kind. */
  readonly event?: (event: LoggedEvent) => void;
  /** Another stream, any frame of which means that there is something new. */
  readonly stream?: string;
  /** Where no event tells of it: while somebody looks. */
  readonly everyMs?: number;
  /** Events of so long are one read: longer where they are many and the read is dear. */
  readonly gatherMs?: number;
}

const GATHER_MS = 150;

/**
 * Small things that have no revision of their own: read whole, and read again when an event says that something of them has changed. An
 * event during a read leads to another one, so what is shown is never older than the last event.
 */
export function useRead<T>(key: string, read: (signal: AbortSignal) => Promise<T>, sources: Sources = {}): Reading<T> {
  const { city, stream, everyMs } = sources;
  const [shown, show] = useState<{ key: string; data: T | undefined; error: unknown; asOf: number }>(() => ({
    key,
    data: undefined,
    error: undefined,
    asOf: 0,
  }));
  const now = useRef({ read, sources });
  now.current = { read, sources };
  const go = useRef<() => void>(() => undefined);
  useEffect(() => {
    const stop = new AbortController();
    let reading = false;
    let wanted = false;
    let begun = false;
    /** It is refused to this key, however often it is asked for. */
    let barred = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const once = async (): Promise<void> => {
      if (reading) {
        wanted = true;
        return;
      }
      reading = begun = true;
      do {
        wanted = false;
        const asked = keyNow();
        try {
          const data = await now.current.read(stop.signal);
          barred = false;
          if (!stop.signal.aborted) show({ key, data, error: undefined, asOf: Date.now() });
        } catch (error) {
          // What was asked with the key before tells nothing of the one that is used by now.
          barred = isForbidden(error) && asked === keyNow();
          if (!stop.signal.aborted) show((before) => ({ ...(before.key === key ? before : { key, data: undefined, asOf: 0 }), error }));
        }
      } while (wanted && !barred && !stop.signal.aborted);
      reading = false;
    };
    const soon = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void once();
      }, now.current.sources.gatherMs ?? GATHER_MS);
    };
    go.current = () => void once();
    /** Where nothing will be told, there is still what the service says now. */
    const state = ({ kind }: StreamState): void => {
      if (!begun && (kind === 'paused' || kind === 'refused' || kind === 'ended')) void once();
    };
    const leave = [
      ...(city === undefined
        ? []
        : [
            hub.join(streamOf(city), {
              live: () => void once(),
              state,
              frame: ({ event, data }) => {
                if (event !== 'event') return;
                const told = data as LoggedEvent;
                now.current.sources.event?.(told);
                if (now.current.sources.on?.test(told.type) === true) soon();
              },
            }),
          ]),
      ...(stream === undefined
        ? []
        : [hub.join(stream, { live: () => void once(), state, frame: ({ event }) => (event === 'heartbeat' ? undefined : soon()) })]),
    ];
    if (city === undefined && stream === undefined) void once();
    const anew = onKeyChange(() => {
      barred = false;
      if (begun && keyNow() !== null) void once();
    });
    const every =
      everyMs === undefined
        ? undefined
        : setInterval(() => {
            if (!document.hidden && !barred) void once();
          }, everyMs);
    return () => {
      stop.abort();
      clearTimeout(timer);
      clearInterval(every);
      anew();
      for (const each of leave) each();
    };
  }, [key, city, stream, everyMs]);
  const again = useCallback(() => go.current(), []);
  return shown.key === key ? { ...shown, again } : { data: undefined, error: undefined, asOf: 0, again };
}
