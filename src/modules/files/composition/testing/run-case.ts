import { compose } from '../compose/compose.js';
import { describeIssue } from '../issue.js';
import { MemoryTree } from '../trees/testing/memory-tree.js';
import type { Case } from './case-file.js';
import { mismatch, misplaced } from './expectations.js';
import { leavesOf, Sources } from './leaves.js';
import { MemoryPacks } from './memory-packs.js';

/**
 * Composes a case's files. Answers everything in which the result differs from what the case expects, and every leaf of
 * it whose source does not hold its value.
 */
export async function runCase(given: Case): Promise<string[]> {
  const packs = new MemoryPacks(given.files, given.packs);
  const { config, issues } = await compose({ tree: new MemoryTree(given.files), packs, cityName: given.cityName });
  const told = issues.map((issue) => `${issue.severity} ${describeIssue(issue)}`);
  const differences = [
    ...without(given.issues, told).map((line) => `not told: ${line}`),
    ...without(told, given.issues).map((line) => `told, but not expected: ${line}`),
  ];
  const asked = given.expect.length + given.origins.length > 0;
  if (config === undefined) return asked ? [...differences, 'there is no result'] : differences;
  if (!asked) differences.push('there is a result');
  for (const line of given.expect) differences.push(mismatch(config, line) ?? '');
  for (const line of given.origins) differences.push(misplaced(config, line) ?? '');
  const sources = new Sources((file) => packs.textOf(file));
  for (const leaf of leavesOf(config)) differences.push(sources.doubt(leaf) ?? '');
  return differences.filter((line) => line !== '');
}

/** The members of `all` that are not among `others`, each as often as it is missing. */
function without(all: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return all.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
