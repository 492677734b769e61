import '../../scripts/typescript.mjs';

export default async function globalTeardown() {
  const { stopServers } = await import('./servers.ts');
  await stopServers();
}
