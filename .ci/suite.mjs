/**
 * What a jest run has to say: `suite.mjs RESULT.json EXIT-CODE NAME` prints a line `passed failed name`, then each failure, cut
 * to a screen, then the sum in words. A file that could not be run has no tests to count: it counts as a failed one.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const LINES = 40;
const WIDTH = 500;
/** Places in a stack that are not ours. */
const FOREIGN = /^ +at .*(node_modules\/|node:internal|test\/runner\/)/;
const [file, code, name] = process.argv.slice(2);
const result = JSON.parse(readFileSync(file, 'utf8'));
const plain = (text) => text.replace(/\u001b\[[0-9;]*m/g, '');

const failures = result.testResults.flatMap(({ name: path, assertionResults, message, status }) => {
  const failed = assertionResults.filter((one) => one.status === 'failed');
  if (failed.length === 0) return status === 'failed' ? [{ path, title: '(the file)', text: message }] : [];
  return failed.map(({ fullName, failureMessages }) => ({ path, title: fullName, text: failureMessages.join('\n') }));
});
const failed = failures.length === 0 && (code !== '0' || !result.success) ? 1 : failures.length;

console.log(`${result.numPassedTests} ${failed} ${name}`);
for (const { path, title, text } of failures) {
  console.log(`\n● ${relative(process.cwd(), path)}: ${title}`);
  const lines = plain(text)
    .split('\n')
    .filter((line) => !FOREIGN.test(line))
    .map((line) => (line.length > WIDTH ? `${line.slice(0, WIDTH)}…` : line));
  console.log(lines.slice(0, LINES).join('\n'));
  if (lines.length > LINES) console.log(`  (${lines.length - LINES} more lines)`);
}
for (const { name: path, assertionResults } of result.testResults)
  for (const { status, fullName } of assertionResults)
    if (status === 'pending' || status === 'todo') console.log(`SKIPPED: ${relative(process.cwd(), path)}: ${fullName}`);
console.log(`${result.numPassedTests} passed, ${failed} failed, ${result.numPendingTests + result.numTodoTests} skipped`);
