import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useImperativeHandle, useRef, useState, type ReactNode, type Ref } from 'react';
import { counted } from '../lib/counted.js';
import type { Message } from '../live/transcript.js';
import { Button } from './basics.js';
import { Entry } from './entry.js';
import { useFoundMarks } from './found-marks.js';

const END_PX = 80;
/** Older ones are asked for this early, so that they are there when somebody reaches them. */
const TOP_PX = 600;

export interface TranscriptHandle {
  toEnd(): void;
  /** Goes to an entry, if it is here. */
  show(id: string): boolean;
}

interface Props {
  readonly messages: readonly Message[];
  /** There are older ones. */
  readonly older: boolean;
  readonly onOlder: () => Promise<void>;
  /** Whoever read above is at the end again. */
  readonly onEnd: () => void;
  readonly handle: Ref<TranscriptHandle>;
  /** The entry that the keys are at. */
  readonly here: string | undefined;
  /** What is searched for. */
  readonly pattern: RegExp | undefined;
  readonly children?: ReactNode;
}

const hasFailed = (message: Message | undefined): boolean =>
  message?.blocks.some((block) => block.type === 'tool_result' && block.is_error === true) === true;

/** As long as it is not drawn yet; it is measured then. */
function estimate({ blocks }: Message): number {
  let px = 16;
  for (const block of blocks) {
    const text = block.type === 'text' ? (block.text ?? '') : '';
    px += text === '' ? 40 : 21 * Math.min(80, Math.ceil(text.length / 90) + text.split('\n', 80).length - 1) + 6;
  }
  return px;
}

/**
 * What was said, of which the entries in sight are drawn. Whoever is at the end follows what comes; whoever reads above stays at his entry,
 * whatever grows below him or is put before him.
 */
export function TranscriptList({ messages, older, onOlder, onEnd, handle, here, pattern, children }: Props): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const seen = useRef<string>(undefined);
  const asking = useRef(false);
  const [reading, setReading] = useState(false);
  const [atTop, setAtTop] = useState(true);
  const [unseen, setUnseen] = useState(0);
  const virtual = useVirtualizer({
    count: messages.length,
    getScrollElement: () => scroller.current,
    estimateSize: (i) => estimate(messages[i]!),
    getItemKey: (i) => messages[i]!.id,
    overscan: 6,
    paddingStart: 16,
    paddingEnd: 16,
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: END_PX,
    useFlushSync: false,
  });
  const follow = (now: boolean): void => {
    if (now && !following.current) onEnd();
    following.current = now;
  };
  const toEnd = (): void => {
    follow(true);
    setUnseen(0);
    virtual.scrollToEnd();
  };
  const show = (id: string): boolean => {
    const index = messages.findIndex((message) => message.id === id);
    if (index < 0) return false;
    following.current = false;
    virtual.scrollToIndex(index, { align: 'center' });
    return true;
  };
  useImperativeHandle(handle, () => ({ toEnd, show }));
  useFoundMarks(scroller, pattern);
  useEffect(() => {
    if (following.current) {
      seen.current = messages.at(-1)?.id;
      return;
    }
    const last = messages.findLastIndex(({ id }) => id === seen.current);
    setUnseen(last < 0 ? 0 : messages.length - 1 - last);
  }, [messages]);
  useEffect(() => {
    // The room for it changes with what stands around it: who is at the end stays there.
    const watch = new ResizeObserver(() => {
      if (following.current) virtual.scrollToEnd();
    });
    watch.observe(scroller.current!);
    return () => watch.disconnect();
  }, [virtual]);
  const look = (): void => {
    const box = scroller.current;
    if (box === null) return;
    follow(box.scrollHeight - box.scrollTop - box.clientHeight < END_PX);
    if (following.current) {
      seen.current = messages.at(-1)?.id;
      setUnseen(0);
    }
    setAtTop(box.scrollTop < TOP_PX);
    if (older && box.scrollTop < TOP_PX && box.scrollHeight > box.clientHeight) ask();
  };
  const ask = (): void => {
    if (asking.current) return;
    asking.current = true;
    setReading(true);
    void onOlder().finally(() => {
      asking.current = false;
      setReading(false);
    });
  };
  const items = virtual.getVirtualItems();
  return (
    <div className="relative min-h-24 flex-1">
      <div
        ref={scroller}
        role="log"
        aria-label="What was said"
        aria-live="off"
        tabIndex={0}
        data-transcript
        onScroll={look}
        className="still h-full overflow-y-auto px-4"
      >
        {children}
        <div className="relative mx-auto max-w-3xl" style={{ height: virtual.getTotalSize() }}>
          <div className="absolute inset-x-0 top-0" style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
            {items.map(({ key, index }) => (
              <div key={key} ref={virtual.measureElement} data-index={index} className="pb-4">
                <Entry message={messages[index]!} here={key === here} open={key === here && pattern !== undefined} />
              </div>
            ))}
          </div>
        </div>
      </div>
      {older && atTop && (
        <div className="pointer-events-none absolute inset-x-0 top-2 flex justify-center">
          <Button className="pointer-events-auto shadow-lg" disabled={reading} onClick={ask}>
            {reading ? 'Reading older …' : 'Show older'}
          </Button>
        </div>
      )}
      {unseen > 0 && (
        <Button look="primary" hotkey="G" onClick={toEnd} className="absolute bottom-3 left-1/2 -translate-x-1/2 shadow-lg">
          {counted(unseen, 'new entry', 'new entries')}
          {hasFailed(messages.at(-1)) && ', the newest: a tool has failed'}
        </Button>
      )}
    </div>
  );
}
