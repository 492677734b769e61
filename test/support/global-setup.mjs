import { warm } from '../../scripts/typescript.mjs';

/** Runs once before the db and e2e projects, outside jest's module system: Node reads the TypeScript itself. */
export default async function globalSetup() {
  const warmed = warm();
  const { startServers } = await import('./servers.ts');
  await Promise.all([startServers(), warmed]);
}
