import { useMemo, useState, type ReactNode } from 'react';
import type { Bead } from '../api/types.js';
import type { Selection } from '../lib/selection.js';
import { asTree, unfolded } from '../lib/tree.js';
import { BeadTable, type Place } from './bead-table.js';

interface TreeProps {
  readonly rows: readonly Bead[];
  readonly open: string | undefined;
  readonly onOpen: (id: string | undefined, replace?: boolean) => void;
  readonly selection: Selection;
  readonly onSelect: (next: Selection) => void;
}

/** Beads below what they are part of. What is part of a bead that the filter leaves out stands for itself. */
export function BeadTree({ rows, ...rest }: TreeProps): ReactNode {
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const leaves = useMemo(
    () =>
      asTree(
        rows,
        ({ id }) => id,
        ({ parent }) => parent,
      ),
    [rows],
  );
  const [shown, ids, places] = useMemo(() => {
    const open = unfolded(leaves, ({ id }) => folded.has(id));
    const found = new Map<string, Place>();
    for (const { item, depth, below } of open) found.set(item.id, { depth, below, folded: folded.has(item.id) });
    return [open.map(({ item }) => item), open.map(({ item }) => item.id), found] as const;
  }, [leaves, folded]);
  return (
    <BeadTable
      rows={shown}
      ids={ids}
      label="Beads as a tree"
      places={places}
      onFold={(id, fold) =>
        setFolded((before) => {
          const next = new Set(before);
          if (fold) next.add(id);
          else next.delete(id);
          return next;
        })
      }
      {...rest}
    />
  );
}
