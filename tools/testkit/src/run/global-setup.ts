import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  AMQP_MANAGEMENT_URL_VARIABLE,
  AMQP_URL_VARIABLE,
  DATABASE_URL_VARIABLE,
  keptServersFile,
  SERVERS_FROM_VARIABLE,
  type TestServerUrls,
} from './test-servers.ts';

const START_DEADLINE_MS = 720_000; // includes fetching a broker

/**
 * Uses servers of the environment, those that a developer keeps running, or new ones in a child process.
 * Vitest calls this once per project; only the first call starts servers.
 * @returns function that stops the servers of this call and waits for their end
 */
export default async function setUpServers(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[DATABASE_URL_VARIABLE] && process.env[AMQP_URL_VARIABLE]) return undefined;
  const kept = process.env[SERVERS_FROM_VARIABLE] ? undefined : readKeptServers(keptServersFile());
  if (kept !== undefined) {
    publish(kept);
    return undefined;
  }
  const child = startServers();
  publish(await firstLine(child));
  return () => endServers(child);
}

async function endServers(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.stdin?.end();
  await ended;
}

function publish(urls: TestServerUrls): void {
  process.env[DATABASE_URL_VARIABLE] = urls.databaseUrl;
  process.env[AMQP_URL_VARIABLE] = urls.amqpUrl;
  if (urls.managementUrl !== undefined) process.env[AMQP_MANAGEMENT_URL_VARIABLE] = urls.managementUrl;
}

/** Servers of a running keep-servers.ts. Trusts only a file of the same user. */
function readKeptServers(file: string): TestServerUrls | undefined {
  try {
    if (statSync(file).uid !== process.getuid?.()) return undefined;
    const urls = JSON.parse(readFileSync(file, 'utf8')) as TestServerUrls;
    process.kill(urls.pid, 0);
    return urls;
  } catch {
    return undefined;
  }
}

function startServers(): ChildProcess {
  return spawn(
    process.execPath,
    ['--conditions=source', join(import.meta.dirname, 'keep-servers.ts'), '--while-stdin'],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true, // Ctrl-C ends only the test runner; the closed pipe then stops the servers in order
      env: { ...process.env, NODE_OPTIONS: '' },
    },
  );
}

async function firstLine(child: ChildProcess): Promise<TestServerUrls> {
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(
      () => reject(new Error('The test servers did not start in time.')),
      START_DEADLINE_MS,
    );
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (!output.includes('\n')) return;
      clearTimeout(deadline);
      resolve(JSON.parse(output) as TestServerUrls);
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      clearTimeout(deadline);
      reject(new Error(`The test servers ended with code ${code}.`));
    });
  });
}
