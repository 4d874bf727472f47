import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { scratchParent } from '@opentill/test-servers/scratch-directory';
import { waitUntil } from '@opentill/testkit/wait-until';
import { processesOf, runNpmStart, takenPorts, type NpmStart } from '../src/run-npm-start.ts';
import { WAIT_MS } from '../src/time-limits.ts';

export const API = 'http://localhost:3010';
const SHOP = 'http://localhost:3011';
export const FIRST_PAYMENT = 'deploy/guides/first-payment.md';
export const PAYMENT = ['ORDER_PENDING', 'ORDER_PENDING_CONFIRMATION', 'ORDER_SUCCESS'];
export const PAYOUT = ['ORDER_PENDING', ...PAYMENT];

export interface StartedGateway {
  readonly stateDir: string;
  running(): NpmStart;
  /** Starts, and waits until the gateway is ready and has printed its commands. */
  start(args?: readonly string[], settings?: Readonly<Record<string, string>>): Promise<void>;
  begin(): void;
  /** Sends Ctrl-C, waits for the end, and expects that no process is left and no port in use. */
  endsByCtrlC(): Promise<void>;
  remove(): Promise<void>;
}

export async function openStartedGateway(): Promise<StartedGateway> {
  await waitUntil(
    'the ports of npm start are free',
    async () => (await takenPorts()).length === 0,
    WAIT_MS,
  ).catch(async (error: unknown) => {
    const ports = (await takenPorts()).join(', ');
    throw new Error(`This test needs the ports of npm start. Stop the programs that listen on ${ports}.`, {
      cause: error,
    });
  });
  const stateDir = mkdtempSync(join(scratchParent(), 'opentill-start-'));
  chmodSync(stateDir, 0o711); // lets the servers' user reach its subdirectories
  let run: NpmStart | undefined;
  const running = (): NpmStart => {
    if (run === undefined) throw new Error('npm start was not run');
    return run;
  };
  return {
    stateDir,
    running,
    begin() {
      run = runNpmStart(stateDir);
    },
    async start(args = [], settings = {}) {
      const begun = (run = runNpmStart(stateDir, args, settings));
      const isReady = async () =>
        begun.hasEnded() || (await fetch(`${API}/readyz`).then((answer) => answer.status === 200));
      await waitUntil('the gateway is ready', isReady, 2 * WAIT_MS).catch((error: unknown) => {
        throw new Error(`npm start is not ready:\n${begun.output()}`, { cause: error });
      });
      const isShown = () => begun.hasEnded() || begun.output().includes('Create a first collection');
      await waitUntil('the screen is shown', isShown, WAIT_MS);
      if (begun.hasEnded()) throw new Error(`npm start ended:\n${begun.output()}`);
    },
    async endsByCtrlC() {
      running().press('SIGINT');
      await running().ended;
      const left = async () => [...processesOf(stateDir), ...(await takenPorts())];
      // A guard process stops processes that their parent could not stop in time.
      await waitUntil('no process or port is left', async () => (await left()).length === 0, WAIT_MS).catch(
        () => undefined,
      );
      expect(await left()).toEqual([]);
    },
    async remove() {
      if (run !== undefined && !run.hasEnded()) {
        run.press('SIGINT');
        const late = setTimeout(() => running().press('SIGKILL'), 60_000);
        await run.ended;
        clearTimeout(late);
      }
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

export async function bash(commands: string): Promise<string> {
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', commands], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, errors] = ['', ''];
  shell.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  shell.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const code = await new Promise((resolve) => void shell.once('close', resolve));
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  return out;
}

interface ShopCallback {
  readonly notifyType: string;
  readonly verified: boolean;
  readonly repeats: number;
}

export async function untilPaid(orderId: string, story = PAYMENT): Promise<void> {
  const callbacks = async () => {
    const all = (await (await fetch(`${SHOP}/callbacks.json?orderId=${orderId}`)).json()) as ShopCallback[];
    return all.filter(({ repeats }) => repeats === 0); // a callback that was answered late is repeated
  };
  await waitUntil('the order is paid', async () => (await callbacks()).length >= story.length, WAIT_MS);
  expect((await callbacks()).map(({ notifyType }) => notifyType).toReversed()).toEqual(story);
  expect((await callbacks()).every(({ verified }) => verified)).toBe(true);
}
