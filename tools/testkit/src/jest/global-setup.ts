import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  AMQP_MANAGEMENT_URL_VARIABLE,
  AMQP_URL_VARIABLE,
  DATABASE_URL_VARIABLE,
  keptServersFile,
  SERVERS_FROM_VARIABLE,
  SERVERS_KEY,
  type TestServersHolder,
  type TestServerUrls,
} from './test-servers.ts';

const START_DEADLINE_MS = 240_000; // holds the installation of a broker

/**
 * One Postgres and one RabbitMQ for the whole run: those the environment names, those a developer keeps running, or
 * new ones in a process of their own that ends with ours (also when OPENTILL_TEST_SERVERS says where from). Jest calls this once however many projects name it.
 */
export default async function setUpServers(): Promise<void> {
  if (process.env[DATABASE_URL_VARIABLE] && process.env[AMQP_URL_VARIABLE]) return;
  const kept = process.env[SERVERS_FROM_VARIABLE] ? undefined : readKeptServers(keptServersFile());
  publish(kept ?? (await startServers()));
}

function publish(urls: TestServerUrls): void {
  process.env[DATABASE_URL_VARIABLE] = urls.databaseUrl;
  process.env[AMQP_URL_VARIABLE] = urls.amqpUrl;
  if (urls.managementUrl !== undefined) process.env[AMQP_MANAGEMENT_URL_VARIABLE] = urls.managementUrl;
}

/** The servers of a keep-servers.ts that still runs; the file must be our own. */
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

async function startServers(): Promise<TestServerUrls> {
  const child = spawn(
    process.execPath,
    ['--conditions=source', join(import.meta.dirname, 'keep-servers.ts'), '--while-stdin'],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true, // Ctrl-C is jest's; its end closes the pipe, which ends the servers in order
      env: { ...process.env, NODE_OPTIONS: '' },
    },
  );
  (globalThis as TestServersHolder)[SERVERS_KEY] = child;
  return firstLine(child);
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
