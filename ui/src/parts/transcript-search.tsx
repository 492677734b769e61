import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { counted } from '../lib/counted.js';
import { holds, patternOf } from '../lib/find.js';
import { useKeys } from '../lib/keys.js';
import type { Conversation, Message } from '../live/transcript.js';
import { Age, Button } from './basics.js';
import { Icon } from './icons.js';

export interface TranscriptSearch {
  readonly open: boolean;
  readonly close: () => void;
  readonly pattern: RegExp | undefined;
  /** How many entries have it. */
  readonly count: number;
  /** Which of them the keys are at, from the newest. */
  readonly place: number | undefined;
  /** By one towards older ones, or towards newer ones. */
  readonly step: (towards: 'older' | 'newer') => void;
}

/** Search in what is loaded of a transcript, and the keys that go from entry to entry. */
export function useTranscriptSearch(
  messages: readonly Message[],
  find: string,
  here: string | undefined,
  onGo: (entry: string) => void,
): TranscriptSearch {
  const [asked, ask] = useState(false);
  const { pattern, known } = useMemo(() => ({ pattern: patternOf(find), known: new WeakMap<Message, boolean>() }), [find]);
  const found = useMemo(() => {
    if (pattern === undefined) return [];
    return messages.filter((message) => {
      // An entry that changes is another one.
      const before = known.get(message);
      if (before !== undefined) return before;
      const has = holds(message.blocks, pattern);
      known.set(message, has);
      return has;
    });
  }, [messages, pattern, known]);
  const at = found.findIndex(({ id }) => id === here);
  const step = (towards: 'older' | 'newer'): void => {
    const by = towards === 'older' ? -1 : 1;
    const next = at < 0 ? found.at(-1) : found[(at + by + found.length) % found.length];
    if (next !== undefined) onGo(next.id);
  };
  const move = (by: number): void => {
    const now = messages.findIndex(({ id }) => id === here);
    const next = now < 0 ? messages.at(-1) : messages[now + by];
    if (next !== undefined) onGo(next.id);
  };
  useKeys('What was said', [
    { keys: '/', label: 'search', run: () => ask(true) },
    ...(found.length === 0
      ? []
      : [
          { keys: 'n', label: 'the one found before it', repeats: true, run: () => step('older') },
          { keys: 'N', label: 'the one found after it', repeats: true, run: () => step('newer') },
        ]),
    { keys: 'j', label: 'next entry', repeats: true, run: () => move(1) },
    { keys: 'k', label: 'entry before it', repeats: true, run: () => move(-1) },
  ]);
  return {
    open: asked || find !== '',
    close: () => ask(false),
    pattern,
    count: found.length,
    place: at < 0 ? undefined : found.length - at,
    step,
  };
}

interface BarProps {
  readonly search: TranscriptSearch;
  readonly find: string;
  readonly told: Conversation;
  readonly onFind: (words: string) => void;
  readonly onOlder: () => Promise<void>;
  readonly onClose: () => void;
}

/** What is searched for, where one is in it, and how far back it reaches. */
export function FindBar({ search, find, told, onFind, onOlder, onClose }: BarProps): ReactNode {
  const { count, place, pattern, step } = search;
  const [reading, setReading] = useState(false);
  const first = told.messages[0];
  return (
    <search className="flex flex-wrap items-center gap-2 border-b border-line bg-panel px-4 py-2">
      <input
        type="search"
        autoFocus
        aria-label="Search what was said"
        placeholder="Search what was said"
        value={find}
        onChange={(event) => onFind(event.target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing || (event.key !== 'Enter' && event.key !== 'Escape')) return;
          event.preventDefault();
          if (event.key === 'Escape') onClose();
          else step(event.shiftKey ? 'newer' : 'older');
        }}
        className="field min-w-0 flex-1 basis-60 sm:w-56 sm:flex-none"
      />
      <button
        type="button"
        aria-label="End the search"
        onClick={onClose}
        className="rounded-md p-2 text-muted hover:bg-raised sm:order-last pointer-coarse:p-3"
      >
        <Icon name="close" />
      </button>
      <Button hotkey="n" disabled={count === 0} onClick={() => step('older')}>
        Before
      </Button>
      <Button hotkey="N" disabled={count === 0} onClick={() => step('newer')}>
        After
      </Button>
      <p role="status" className="text-sm tabular-nums text-muted">
        {pattern !== undefined && (place === undefined ? `${count} found` : `${place} of ${count}`)}
      </p>
      <p className="ml-auto flex items-center gap-2 text-xs text-muted sm:text-sm">
        <span>
          in {counted(told.messages.length, 'entry', 'entries')}
          {first?.timestamp !== undefined && (
            <>
              , the first <Age at={first.timestamp} /> ago
            </>
          )}
        </span>
        {told.before !== undefined && (
          <Button
            disabled={reading}
            onClick={() => {
              setReading(true);
              void onOlder().finally(() => setReading(false));
            }}
          >
            {reading ? 'Reading …' : 'Look further back'}
          </Button>
        )}
      </p>
    </search>
  );
}

/** So many pages are read for an entry that an address names. */
const MOST_PAGES = 10;

/** Goes to the entry that the address names, once it is there: older ones are read for it. */
export function useEntryOfAddress(
  entry: string | undefined,
  told: Conversation,
  show: (entry: string) => boolean,
  older: () => Promise<void>,
): void {
  const shown = useRef<string>(undefined);
  const pages = useRef({ entry, left: MOST_PAGES, reading: false });
  useEffect(() => {
    if (entry === undefined) shown.current = undefined;
    if (entry === undefined || shown.current === entry || !told.begun) return;
    if (show(entry)) {
      shown.current = entry;
      return;
    }
    if (pages.current.entry !== entry) pages.current = { entry, left: MOST_PAGES, reading: false };
    const now = pages.current;
    if (told.before === undefined || now.reading || now.left === 0) return;
    now.left--;
    now.reading = true;
    void older().finally(() => (now.reading = false));
  });
}
