import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useCallback, useLayoutEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import type { Bead } from '../api/types.js';
import { focusAlong } from '../lib/focus-back.js';
import { useKeys } from '../lib/keys.js';
import { extend, toggle, type Selection } from '../lib/selection.js';
import { movedBy } from '../lib/still.js';
import { visible } from '../lib/text.js';
import { Age } from './basics.js';
import { BeadState } from './bead-state.js';

const ROW_PX = 44;
const DEEPEST = 8;

/** Where a bead is in a tree. */
export interface Place {
  readonly depth: number;
  /** Beads that are directly below it. */
  readonly below: number;
  readonly folded: boolean;
}

interface TableProps {
  readonly rows: readonly Bead[];
  /** Of the rows; the same for as long as they are in the same order. */
  readonly ids: readonly string[];
  readonly label: string;
  /** The one that is shown beside the list. */
  readonly open: string | undefined;
  readonly onOpen: (id: string | undefined, replace?: boolean) => void;
  readonly selection: Selection;
  readonly onSelect: (next: Selection) => void;
  /** The rows are a tree: where each is in it. */
  readonly places?: ReadonlyMap<string, Place>;
  readonly onFold?: (id: string, folded: boolean) => void;
}

/** Beads, thousands of them, of which those in sight are drawn. They are marked to do the same to many. */
export function BeadTable({ rows, ids, label, open, onOpen, selection, onSelect, places, onFold }: TableProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const [chosen, choose] = useState<string>();
  const at = useMemo(() => Math.max(0, ids.indexOf(chosen ?? open ?? '')), [ids, chosen, open]);
  // Another one has all rows measured anew.
  const keyOf = useCallback((i: number) => ids[i]!, [ids]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: keyOf,
    overscan: 12,
    useFlushSync: false,
  });
  // Of a tree it is the branch that somebody has opened or folded that stays.
  useStill(scroller, ids, places === undefined);
  const move = (by: number, mark = false): void => {
    const next = Math.max(0, Math.min(rows.length - 1, at + by));
    const row = rows[next];
    if (row === undefined) return;
    choose(row.id);
    virtual.scrollToIndex(next);
    focusAlong();
    if (mark) onSelect(extend(selection.anchor === undefined ? toggle(selection, ids[at]!) : selection, ids, row.id));
    else if (open !== undefined) onOpen(row.id, true);
  };
  const latest = useRef({ ids, selection });
  latest.current = { ids, selection };
  const mark = useRef((id: string, range: boolean): void => {
    const now = latest.current;
    choose(id);
    onSelectNow.current(range ? extend(now.selection, now.ids, id) : toggle(now.selection, id));
  });
  const onSelectNow = useRef(onSelect);
  onSelectNow.current = onSelect;
  const here = ids[at];
  const unfold = (): void => {
    const place = here === undefined ? undefined : places?.get(here);
    if (place === undefined || place.below === 0) return;
    if (place.folded) onFold?.(here!, false);
    else move(1);
  };
  const fold = (): void => {
    const place = here === undefined ? undefined : places?.get(here);
    if (place === undefined) return;
    if (place.below > 0 && !place.folded) return onFold?.(here!, true);
    const above = ids.slice(0, at).findLastIndex((id) => places!.get(id)!.depth < place.depth);
    if (above >= 0) move(above - at);
  };
  useKeys(label, [
    { keys: 'j', label: 'next', repeats: true, run: () => move(1) },
    { keys: 'k', label: 'previous', repeats: true, run: () => move(-1) },
    { keys: 'o', label: 'open', run: () => onOpen(here) },
    { keys: 'Enter', label: 'open', run: () => onOpen(here) },
    { keys: 'x', label: 'mark', run: () => (here === undefined ? undefined : mark.current(here, false)) },
    { keys: 'X', label: 'mark from the last mark to here', run: () => (here === undefined ? undefined : mark.current(here, true)) },
    { keys: 'J', label: 'mark downwards', repeats: true, run: () => move(1, true) },
    { keys: 'K', label: 'mark upwards', repeats: true, run: () => move(-1, true) },
    { keys: 'mod+a', label: 'mark all of the list', run: () => onSelect({ ids: new Set(ids), anchor: ids[0] }) },
    ...(places === undefined
      ? []
      : [
          { keys: 'ArrowRight', label: 'show what is below it', repeats: true, run: () => unfold() },
          { keys: 'ArrowLeft', label: 'hide what is below it, or go to what it is part of', repeats: true, run: () => fold() },
        ]),
  ]);
  return (
    <div
      ref={scroller}
      tabIndex={0}
      role={places === undefined ? 'table' : 'treegrid'}
      aria-label={label}
      aria-rowcount={rows.length}
      data-beads
      className="still @container min-h-0 flex-1 overflow-auto"
    >
      <div role="rowgroup" className="relative w-full" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => (
          <Row
            key={key}
            bead={rows[index]!}
            index={index}
            top={start}
            current={index === at}
            open={rows[index]!.id === open}
            marked={selection.ids.has(rows[index]!.id)}
            place={places?.get(rows[index]!.id)}
            onOpen={onOpen}
            onMark={mark.current}
            onFold={onFold}
          />
        ))}
      </div>
    </div>
  );
}

/** What comes and goes above what somebody reads moves nothing of it; at the top there is what is new. */
function useStill(scroller: { readonly current: HTMLDivElement | null }, ids: readonly string[], still: boolean): void {
  const before = useRef(ids);
  useLayoutEffect(() => {
    const [was, box] = [before.current, scroller.current];
    before.current = ids;
    if (!still || was === ids || box === null || box.scrollTop === 0) return;
    const by = movedBy(was, ids, Math.floor(box.scrollTop / ROW_PX), Math.ceil(box.clientHeight / ROW_PX));
    if (by !== 0) box.scrollTop += by * ROW_PX;
  }, [ids, scroller, still]);
}

interface RowProps {
  readonly bead: Bead;
  readonly index: number;
  readonly top: number;
  readonly current: boolean;
  readonly open: boolean;
  readonly marked: boolean;
  readonly onOpen: (id: string) => void;
  readonly onMark: (id: string, range: boolean) => void;
  readonly place: Place | undefined;
  readonly onFold: ((id: string, folded: boolean) => void) | undefined;
}

const Row = memo(
  function Row({ bead, index, top, current, open, marked, onOpen, onMark, place, onFold }: RowProps): ReactNode {
    const cell = place === undefined ? 'cell' : 'gridcell';
    return (
      <div
        role="row"
        aria-rowindex={index + 1}
        aria-level={place === undefined ? undefined : place.depth + 1}
        aria-expanded={place === undefined || place.below === 0 ? undefined : !place.folded}
        data-bead={bead.id}
        data-revision={bead.revision}
        data-current={current ? '' : undefined}
        data-marked={marked ? '' : undefined}
        onClick={(event) => (event.shiftKey ? onMark(bead.id, true) : onOpen(bead.id))}
        style={{ transform: `translateY(${top}px)`, height: ROW_PX }}
        className={`absolute inset-x-0 top-0 grid cursor-pointer grid-cols-[1.5rem_4.5rem_1fr_auto] items-center gap-3 border-b border-line pl-2 pr-4 select-none hover:bg-raised data-current:shadow-[inset_3px_0_0_var(--accent)] @xl:grid-cols-[1.5rem_6.5rem_4.5rem_1fr_7rem_3rem] ${open || marked ? 'bg-tint' : ''}`}
      >
        <span role={cell} className="flex" onClick={(event) => event.stopPropagation()}>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Mark ${bead.id}`}
            checked={marked}
            onChange={() => undefined}
            onClick={(event) => onMark(bead.id, event.shiftKey)}
            className="size-6 scale-75 accent-[var(--accent)]"
          />
        </span>
        <span role={cell} className="hidden @xl:block">
          <BeadState bead={bead} />
        </span>
        <span role={cell} className="flex min-w-0 items-center gap-1.5 font-mono text-xs text-muted">
          <span className="flex @xl:hidden">
            <BeadState bead={bead} short />
          </span>
          <span className="truncate">{bead.id}</span>
        </span>
        <span
          role={cell}
          className="flex min-w-0 items-center gap-2"
          style={place === undefined ? undefined : { paddingLeft: `${Math.min(place.depth, DEEPEST) * 1.25}rem` }}
        >
          {place !== undefined && <Fold id={bead.id} place={place} onFold={onFold} />}
          <button type="button" tabIndex={-1} className="truncate text-left">
            {visible(bead.title)}
          </button>
          {bead.priority !== undefined && bead.priority < 2 && (
            <span className="shrink-0 rounded bg-warntint px-1 text-xs font-semibold text-warn">P{bead.priority}</span>
          )}
          {bead.labels?.slice(0, 2).map((label) => (
            <span key={label} className="hidden max-w-32 shrink-0 truncate rounded bg-raised px-1.5 text-xs text-muted @4xl:block">
              {visible(label)}
            </span>
          ))}
        </span>
        <span role={cell} className="hidden truncate text-sm text-muted @xl:block">
          {bead.assignee === undefined ? '' : visible(bead.assignee)}
        </span>
        <span role={cell} className="justify-self-end text-xs text-muted">
          <Age at={bead.updated_at ?? bead.created_at} />
        </span>
      </div>
    );
  },
  (a, b) =>
    a.bead === b.bead &&
    a.top === b.top &&
    a.current === b.current &&
    a.open === b.open &&
    a.marked === b.marked &&
    a.index === b.index &&
    a.place?.depth === b.place?.depth &&
    a.place?.below === b.place?.below &&
    a.place?.folded === b.place?.folded,
);

/** Opens and folds what is below a bead; where nothing is, its place is kept. */
function Fold({ id, place: { below, folded }, onFold }: { id: string; place: Place; onFold: RowProps['onFold'] }): ReactNode {
  if (below === 0) return <span aria-hidden="true" className="w-6 shrink-0" />;
  return (
    <button
      type="button"
      tabIndex={-1}
      aria-label={`${folded ? 'Show' : 'Hide'} what is below ${id}: ${below}`}
      aria-expanded={!folded}
      onClick={(event) => {
        event.stopPropagation();
        onFold?.(id, !folded);
      }}
      className="size-6 shrink-0 rounded text-muted hover:bg-raised hover:text-ink"
    >
      <span aria-hidden="true">{folded ? '▸' : '▾'}</span>
    </button>
  );
}
