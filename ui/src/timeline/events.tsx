import { useState, type ReactNode } from 'react';
import { gistOf } from '../../../src/client/gist.js';
import type { LoggedEvent } from '../api/types.js';
import { visible } from '../lib/text.js';
import { Age, Button } from '../parts/basics.js';
import { Code } from '../parts/tool.js';

const DRAWN = 200;

/** What has happened, the newest first, each with all of it when it is opened. */
export function EventList({ events, label }: { events: readonly LoggedEvent[]; label: string }): ReactNode {
  const [open, setOpen] = useState<number>();
  const [drawn, draw] = useState(DRAWN);
  const shown = [...events].reverse().slice(0, drawn);
  return (
    <div>
      <ol aria-label={label} className="flex flex-col divide-y divide-line">
        {shown.map((event) => (
          <li key={event.seq} data-seq={event.seq}>
            <button
              type="button"
              aria-expanded={open === event.seq}
              onClick={() => setOpen(open === event.seq ? undefined : event.seq)}
              className="grid min-h-9 w-full grid-cols-[1fr_auto] items-baseline gap-x-3 px-4 py-1.5 text-left hover:bg-raised md:grid-cols-[14rem_1fr_8rem_3rem]"
            >
              <span className="truncate font-mono text-xs">{visible(event.type)}</span>
              <span className="hidden truncate text-sm md:block">
                {event.subject !== undefined && <span className="mr-2 font-mono text-xs text-muted">{visible(event.subject)}</span>}
                {visible(gistOf(event) ?? '')}
              </span>
              <span className="hidden truncate text-xs text-muted md:block">{visible(event.actor)}</span>
              <span className="justify-self-end text-xs text-muted">
                <Age at={event.ts} />
              </span>
            </button>
            {open === event.seq && (
              <div className="px-4 pb-3">
                <Code>{JSON.stringify(event, null, 2)}</Code>
              </div>
            )}
          </li>
        ))}
      </ol>
      {events.length > drawn && (
        <Button className="m-3" onClick={() => draw(drawn + DRAWN)}>
          {events.length - drawn} older
        </Button>
      )}
    </div>
  );
}
