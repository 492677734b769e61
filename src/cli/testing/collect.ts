import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects garbage over and over until the function that it answers is called. */
export function collecting(): () => void {
  setFlagsFromString('--expose_gc');
  const collect = runInNewContext('gc') as () => void;
  const timer = setInterval(collect, 20);
  return () => clearInterval(timer);
}
