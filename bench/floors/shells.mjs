/** What commands of orders are measured against: a program that starts so many shells, so many at once, and says in seconds how long it took. */
import { spawn } from 'node:child_process';

const [shells, atOnce] = process.argv.slice(2).map(Number);
const started = performance.now();
let left = shells;
const line = async () => {
  while (left-- > 0) await new Promise((done) => spawn('/bin/sh', ['-c', 'true'], { detached: true }).once('close', done));
};
await Promise.all(Array.from({ length: atOnce }, line));
console.log((performance.now() - started) / 1000);
