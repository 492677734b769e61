import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import type { Bead } from '../api/types.js';
import { columnsOf, neighborOf, type Column } from '../lib/bead-columns.js';
import { focusAlong } from '../lib/focus-back.js';
import { useKeys } from '../lib/keys.js';
import { extend, toggle, type Selection } from '../lib/selection.js';
import { visible } from '../lib/text.js';
import { Age } from './basics.js';

const CARD_PX = 84;

interface BoardProps {
  readonly rows: readonly Bead[];
  /** What the filter says of the status: it decides which columns there are. */
  readonly status: string | undefined;
  readonly open: string | undefined;
  readonly onOpen: (id: string | undefined, replace?: boolean) => void;
  readonly selection: Selection;
  readonly onSelect: (next: Selection) => void;
}

/** Beads in columns by how far they are; of each column what is in sight is drawn. */
export function BeadBoard({ rows, status, open, onOpen, selection, onSelect }: BoardProps): ReactNode {
  const columns = useMemo(() => columnsOf(rows, status), [rows, status]);
  const order = useMemo(() => columns.flatMap(({ beads }) => beads.map(({ id }) => id)), [columns]);
  const [chosen, choose] = useState<string>();
  const known = chosen ?? open;
  const here = known !== undefined && order.includes(known) ? known : order[0];
  const move = (across: number, down: number): void => {
    const next = neighborOf(columns, here, across, down);
    if (next === undefined) return;
    choose(next);
    focusAlong();
    if (open !== undefined) onOpen(next, true);
  };
  const mark = (id: string, range: boolean): void => {
    choose(id);
    onSelect(range ? extend(selection, order, id) : toggle(selection, id));
  };
  const markHere = (range: boolean) => (): void => {
    if (here !== undefined) mark(here, range);
  };
  useKeys('The board', [
    { keys: 'j', label: 'below', repeats: true, run: () => move(0, 1) },
    { keys: 'k', label: 'above', repeats: true, run: () => move(0, -1) },
    { keys: 'ArrowDown', label: 'below', repeats: true, run: () => move(0, 1) },
    { keys: 'ArrowUp', label: 'above', repeats: true, run: () => move(0, -1) },
    { keys: 'ArrowRight', label: 'the next column', repeats: true, run: () => move(1, 0) },
    { keys: 'ArrowLeft', label: 'the column before', repeats: true, run: () => move(-1, 0) },
    { keys: 'o', label: 'open', run: () => onOpen(here) },
    { keys: 'Enter', label: 'open', run: () => onOpen(here) },
    { keys: 'x', label: 'mark', run: markHere(false) },
    { keys: 'X', label: 'mark from the last mark to here', run: markHere(true) },
    { keys: 'mod+a', label: 'mark all of the board', run: () => onSelect({ ids: new Set(order), anchor: order[0] }) },
  ]);
  return (
    <div data-board className="flex min-h-0 flex-1 gap-3 overflow-x-auto p-3">
      {columns.map((column) => (
        <BoardColumn key={column.id} column={column} here={here} open={open} selection={selection} onOpen={onOpen} onMark={mark} />
      ))}
    </div>
  );
}

interface ColumnProps {
  readonly column: Column;
  readonly here: string | undefined;
  readonly open: string | undefined;
  readonly selection: Selection;
  readonly onOpen: (id: string) => void;
  readonly onMark: (id: string, range: boolean) => void;
}

function BoardColumn({ column: { id, name, beads }, here, open, selection, onOpen, onMark }: ColumnProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: beads.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => CARD_PX,
    getItemKey: (i) => beads[i]!.id,
    overscan: 6,
    useFlushSync: false,
  });
  const at = here === undefined ? -1 : beads.findIndex((bead) => bead.id === here);
  // Where the keys are is in sight; what only comes or goes above it moves nothing.
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at);
  }, [here]);
  return (
    <section
      aria-labelledby={`column-${id}`}
      data-column={id}
      className="flex min-w-60 flex-1 flex-col rounded-xl border border-line bg-raised"
    >
      <h2 id={`column-${id}`} className="flex items-baseline gap-2 px-3 py-2 text-sm font-semibold">
        {name} <span className="font-normal tabular-nums text-muted">{beads.length}</span>
      </h2>
      <div ref={scroller} tabIndex={0} role="list" aria-label={name} className="still min-h-0 flex-1 overflow-auto px-2 pb-2">
        <div className="relative w-full" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const bead = beads[index]!;
            return (
              <Card
                key={key}
                bead={bead}
                index={index}
                size={beads.length}
                top={start}
                current={index === at}
                shown={bead.id === open}
                marked={selection.ids.has(bead.id)}
                onOpen={onOpen}
                onMark={onMark}
              />
            );
          })}
        </div>
      </div>
    </section>
  );
}

interface CardProps {
  readonly bead: Bead;
  readonly index: number;
  readonly size: number;
  readonly top: number;
  readonly current: boolean;
  readonly shown: boolean;
  readonly marked: boolean;
  readonly onOpen: (id: string) => void;
  readonly onMark: (id: string, range: boolean) => void;
}

const Card = memo(function Card({ bead, index, size, top, current, shown, marked, onOpen, onMark }: CardProps): ReactNode {
  return (
    <div
      role="listitem"
      aria-setsize={size}
      aria-posinset={index + 1}
      data-bead={bead.id}
      data-revision={bead.revision}
      data-current={current ? '' : undefined}
      data-marked={marked ? '' : undefined}
      onClick={(event) => (event.shiftKey ? onMark(bead.id, true) : onOpen(bead.id))}
      style={{ transform: `translateY(${top}px)`, height: CARD_PX - 8 }}
      className={`absolute inset-x-0 top-0 flex cursor-pointer flex-col justify-between rounded-lg border border-line px-3 py-2 text-sm select-none hover:border-muted data-current:border-accent ${shown || marked ? 'bg-tint' : 'bg-panel'}`}
    >
      <span className="flex min-w-0 items-start gap-2">
        <button type="button" tabIndex={-1} className="line-clamp-2 min-w-0 flex-1 text-left [overflow-wrap:anywhere]">
          {visible(bead.title)}
        </button>
        {bead.priority !== undefined && bead.priority < 2 && (
          <span className="shrink-0 rounded bg-warntint px-1 text-xs font-semibold text-warn">P{bead.priority}</span>
        )}
        <span className="flex" onClick={(event) => event.stopPropagation()}>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Mark ${bead.id}`}
            checked={marked}
            onChange={() => undefined}
            onClick={(event) => onMark(bead.id, event.shiftKey)}
            className="-m-1 size-6 scale-75 accent-[var(--accent)]"
          />
        </span>
      </span>
      <span className="flex min-w-0 items-baseline gap-2 text-xs text-muted">
        <span className="shrink-0 font-mono">{bead.id}</span>
        <span className="min-w-0 flex-1 truncate">{bead.assignee === undefined ? '' : visible(bead.assignee)}</span>
        <Age at={bead.updated_at ?? bead.created_at} />
      </span>
    </div>
  );
});
