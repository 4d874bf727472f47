import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Fate, Surroundings } from './run-doomed-signer.ts';

/** Processes that end by themselves, each replaced by one that is up already. */
export interface DoomedSigners {
  /** How often each step was died at. */
  readonly deaths: ReadonlyMap<string, number>;
  /** Every step that a life passed. */
  readonly known: ReadonlySet<string>;
  /** Replaces those that have died, each by one of the fate that `choose` gives. @returns how many had */
  replaceTheDead(choose: () => Fate): Promise<number>;
  /** Kills all of them. */
  stop(): Promise<void>;
}

interface Life {
  readonly child: ChildProcess;
  readonly isReady: Promise<void>;
  readonly ended: Promise<void>;
  hasEnded: boolean;
  output: string;
}

const MAIN = join(import.meta.dirname, 'run-doomed-signer.ts');

export function startDoomedSigners(count: number, surroundings: Surroundings): DoomedSigners {
  const deaths = new Map<string, number>();
  const known = new Set<string>();
  const lives: Life[] = [];
  let spare = bear(surroundings);

  async function begin(fate: Fate): Promise<Life> {
    const life = spare;
    spare = bear(surroundings);
    await life.isReady;
    life.child.send(fate);
    return life;
  }
  function bury({ output }: Life): void {
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
    async replaceTheDead(choose) {
      let dead = 0;
      for (let place = 0; place < count; place += 1) {
        const life = lives[place];
        if (life?.hasEnded === false) continue;
        if (life !== undefined) bury(life);
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

function bear(surroundings: Surroundings): Life {
  const child = fork(MAIN, [], {
    execArgv: ['--conditions=source', '--disable-warning=ExperimentalWarning'],
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: join(surroundings.stateDirectory, 'compiled'),
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'advanced',
  });
  child.send(surroundings);
  const life: Life = {
    child,
    isReady: new Promise((resolve, reject) => {
      child.once('message', () => resolve());
      child.once('close', () => reject(new Error(`it never began: ${life.output}`)));
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
  life.isReady.catch(() => undefined); // of a spare one that is not needed
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => (life.output += String(chunk)));
  return life;
}
