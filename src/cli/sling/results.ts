import type { Schemas } from '../api.js';
import type { Io } from '../io.js';
import { plain, table } from '../table.js';

type Result = Schemas['SlingBatchResult'];

/** What became of beads that were slung together. Of a whole convoy most wait for others: a line of its own for each would hide the table. */
export function resultTable(results: readonly Result[], io: Io): string {
  const rows = results.map((r) => [
    r.bead,
    wordOf(r),
    r.convoy_id ?? '',
    r.workflow_id ?? '',
    plain(r.detail ?? (r.warnings ?? []).join('; ')),
  ]);
  return table(['BEAD', 'RESULT', 'CONVOY', 'RUN', 'NOTE'], rows, io);
}

function wordOf(result: Result): string {
  if (result.status === 'skipped') return 'skipped, closed';
  if (result.status === 'would_sling') return result.changed === false ? 'unchanged' : 'would be slung';
  return result.status === 'slung' && result.changed === false ? 'unchanged' : result.status;
}
