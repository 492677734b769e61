import { join } from 'node:path';

const ROOT = process.cwd();
/** Where the operator's page is, once it is built. */
export const PAGE_DIR = join(ROOT, 'dist/ui');

/** Builds the page as `npm run build` does: it costs nothing when nothing of it has changed. */
export async function pageIsBuilt(): Promise<void> {
  const { buildPage } = (await import(new URL('../../scripts/ui-build.mjs', import.meta.url).href)) as {
    buildPage(out: string): Promise<void>;
  };
  await buildPage('dist');
}
