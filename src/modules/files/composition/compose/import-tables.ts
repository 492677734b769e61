import type { Table } from '../tree.js';
import { derived, tableFrom } from './nodes.js';
import { importsOf, type Import } from './pack-graph.js';

/** Imports as the composed result has them: as written, with what was found. */
export function importTables(written: Table | undefined, found: readonly Import[]): Table {
  const byBinding = new Map(found.map((each) => [each.binding, each]));
  return tableFrom(
    importsOf(written).map(({ binding, table }) => {
      const pack = byBinding.get(binding)?.pack;
      const about = pack?.table.table('pack');
      return [
        binding,
        table.with(
          ['pack', about?.get('name') ?? derived('')],
          ['pack_version', about?.get('version')],
          ['description', about?.get('description')],
          ['commit', pack?.commit === undefined ? undefined : derived(pack.commit)],
          ['resolved_version', pack?.version === undefined ? undefined : derived(pack.version)],
        ),
      ] as const;
    }),
  );
}
