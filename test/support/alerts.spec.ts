import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { parse } from 'yaml';

/** What these tell goes away by nothing but what somebody does, or they look back over a time themselves. */
const AT_ONCE = ['SvcDeliveriesFail', 'SvcDiskNearlyFull', 'SvcCertificateEnds'];

async function alerts(): Promise<{ alert: string; for?: string }[]> {
  const file = fileURLToPath(new URL('../../deploy/observability/alerts.yml', import.meta.url));
  const { groups } = parse(await readFile(file, 'utf8')) as { groups: { rules: { alert: string; for?: string }[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

it('the guide says what to do about each of them', async () => {
  const page = await readFile(fileURLToPath(new URL('../../docs/how-to/monitoring.md', import.meta.url)), 'utf8');
  const [, section] = page.split('## What to do about an alert');
  const rows = [...section!.split('\n## ')[0]!.matchAll(/^\| `(Svc\w+)` \| [^|]+ \| [^|]+ \|$/gm)].map(([, name]) => name);
  expect(rows).toEqual((await alerts()).map(({ alert }) => alert));
});

// Guard: the first scrape after the database was away for 10 s finds all processes lost, none of which is.
it('no alert is raised for what one scrape has seen', async () => {
  expect((await alerts()).filter((rule) => rule.for === undefined).map(({ alert }) => alert)).toEqual(AT_ONCE);
});
