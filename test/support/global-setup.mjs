import '../../scripts/typescript.mjs';

/** Runs once before the db and e2e projects, outside jest's module system: Node reads the TypeScript itself. */
export default async function globalSetup() {
  const { startServers } = await import('./servers.ts');
  await startServers();
}
