import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { NODE_ENVIRONMENT } from '@opentill/testkit/node-environment';
import type { CrashPlan, PageContext } from './run-crashing-signer.ts';

/** Processes that crash by themselves. A standby process replaces each. */
export interface CrashingSigners {
  readonly deaths: ReadonlyMap<string, number>;
  readonly known: ReadonlySet<string>;
  restartCrashed(choose: () => CrashPlan): Promise<number>;
  stop(): Promise<void>;
}

interface Life {
  readonly child: ChildProcess;
  readonly isReady: Promise<void>;
  readonly ended: Promise<void>;
  hasEnded: boolean;
  output: string;
}

const MAIN = join(import.meta.dirname, 'run-crashing-signer.ts');

export function startCrashingSigners(count: number, surroundings: PageContext): CrashingSigners {
  const deaths = new Map<string, number>();
  const known = new Set<string>();
  const lives: Life[] = [];
  let spare = forkSigner(surroundings);

  async function begin(fate: CrashPlan): Promise<Life> {
    const life = spare;
    spare = forkSigner(surroundings);
    await life.isReady;
    life.child.send(fate);
    return life;
  }
  function recordCrash({ output }: Life): void {
    const line = output.trim().split('\n').at(-1) ?? '';
    if (!line.startsWith('["')) throw new Error(`it ended by itself: ${output}`);
    const steps = JSON.parse(line) as string[];
    for (const step of steps) known.add(step);
    const last = steps.at(-1) ?? '';
    deaths.set(last, (deaths.get(last) ?? 0) + 1);
  }
  return {
    deaths,
    known,
    async restartCrashed(choose) {
      let dead = 0;
      for (let place = 0; place < count; place += 1) {
        const life = lives[place];
        if (life?.hasEnded === false) continue;
        if (life !== undefined) recordCrash(life);
        dead += life === undefined ? 0 : 1;
        lives[place] = await begin(choose());
      }
      return dead;
    },
    async stop() {
      for (const { child, ended } of [...lives, spare]) {
        child.kill('SIGKILL');
        await ended;
      }
    },
  };
}

function forkSigner(surroundings: PageContext): Life {
  const child = fork(MAIN, [], {
    execArgv: ['--conditions=source', '--disable-warning=ExperimentalWarning'],
    env: NODE_ENVIRONMENT,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'advanced',
  });
  child.send(surroundings);
  const life: Life = {
    child,
    isReady: new Promise((resolve, reject) => {
      child.once('message', () => resolve());
      child.once('close', () => reject(new Error(`it never started: ${life.output}`)));
    }),
    ended: new Promise((resolve) => {
      child.once('close', () => {
        life.hasEnded = true;
        resolve();
      });
    }),
    hasEnded: false,
    output: '',
  };
  life.isReady.catch(() => undefined); // a standby process that is not needed
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => (life.output += String(chunk)));
  return life;
}
