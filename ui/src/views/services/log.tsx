import { useEffect, useRef, useState, type ReactNode } from 'react';
import { inCity, part } from '../../api/client.js';
import { useStreamState, wordsOf } from '../../app/connection.js';
import { counted } from '../../lib/counted.js';
import { useFocusBack } from '../../lib/focus-back.js';
import { plain, visible } from '../../lib/text.js';
import { onFrame } from '../../live/frame.js';
import { hub } from '../../live/hub.js';
import { Button, State } from '../../parts/basics.js';
import { Lines, type Line } from './lines.js';

const TAIL = 200;
const END_PX = 40;

/** What a service writes, followed at its end, and left alone while somebody reads further up. */
export function Log({ city, service }: { city: string; service: string }): ReactNode {
  const url = `${inCity(city, `service/${part(service)}/logs/stream`)}?tail=${TAIL}`;
  useFocusBack(service);
  const stream = useStreamState(url);
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [unseen, setUnseen] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  useEffect(() => {
    const told = new Lines();
    let waiting: Line[] = [];
    let gone = false;
    setLines([]);
    const flush = (): void => {
      if (gone || waiting.length === 0) return;
      const fresh = told.take(waiting);
      waiting = [];
      if (!following.current) setUnseen((n) => n + fresh);
      setLines(told.shown);
    };
    const leave = hub.join(url, {
      whole: true,
      live: (gap) => {
        if (!gap) return;
        flush();
        told.begin();
      },
      frame: ({ event, data }) => {
        if (event !== 'line') return;
        waiting.push(data as Line);
        onFrame(flush);
      },
    });
    return () => {
      gone = true;
      leave();
    };
  }, [url]);
  useEffect(() => {
    if (following.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  const toEnd = (): void => {
    following.current = true;
    setUnseen(0);
    if (box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  };
  const { tone, text } = wordsOf(stream);
  return (
    <div className="flex flex-col gap-1.5">
      <div className="flex items-center gap-3 text-xs">
        <State tone={tone}>{text}</State>
        <span className="text-muted">the newest {lines.length === 1 ? 'line' : `${lines.length} lines`}</span>
        {unseen > 0 && (
          <Button className="ml-auto" onClick={toEnd}>
            {counted(unseen, 'new line')}
          </Button>
        )}
        {stream?.kind === 'paused' && <Button onClick={() => hub.resume(url)}>Go on</Button>}
      </div>
      <div
        ref={box}
        role="log"
        aria-label={`What ${service} writes`}
        aria-live="off"
        tabIndex={0}
        data-log={service}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          following.current = scrollHeight - scrollTop - clientHeight < END_PX;
          if (following.current) setUnseen(0);
        }}
        className="h-80 overflow-auto rounded-md border border-line bg-ground p-2 font-mono text-xs"
      >
        {lines.length === 0 && <p className="text-muted">It has written nothing yet.</p>}
        {lines.map(({ seq, at, text: line, attempt }) => (
          <p key={seq} className="words" title={`process ${attempt}`}>
            <span className="mr-2 text-muted">{new Date(at).toLocaleTimeString()}</span>
            {visible(plain(line))}
          </p>
        ))}
      </div>
    </div>
  );
}
