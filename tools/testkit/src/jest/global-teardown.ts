import { SERVERS_KEY, type TestServersHolder } from './test-servers.ts';

/** Ends the servers that global-setup started, and waits until nothing of them is left. */
export default async function tearDownServers(): Promise<void> {
  const child = (globalThis as TestServersHolder)[SERVERS_KEY];
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.stdin?.end();
  await ended;
}
