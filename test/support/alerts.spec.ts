import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { parse } from 'yaml';

/** What these tell goes away by nothing but what somebody does, or they look back over a time themselves. */
const AT_ONCE = ['SvcDeliveriesFail', 'SvcDiskNearlyFull', 'SvcCertificateEnds'];

// Guard: the first scrape after the database was away for 10 s finds all processes lost, none of which is.
it('no alert is raised for what one scrape has seen', async () => {
  const file = fileURLToPath(new URL('../../deploy/observability/alerts.yml', import.meta.url));
  const { groups } = parse(await readFile(file, 'utf8')) as { groups: { rules: { alert: string; for?: string }[] }[] };
  const alerts = groups.flatMap(({ rules }) => rules);
  expect(alerts.filter((rule) => rule.for === undefined).map(({ alert }) => alert)).toEqual(AT_ONCE);
});
