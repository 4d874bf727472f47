import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface Child {
  readonly pid: number;
  ask<Answer>(message: object): Promise<Answer>;
  readonly died: Promise<never>;
  stop(): Promise<void>;
}

/** `program` is a file in this directory, without extension; `flags` are Node's. */
export function startChild(program: string, flags: readonly string[] = []): Child {
  const extension = import.meta.filename.endsWith('.ts') ? 'ts' : 'js';
  const child = fork(join(import.meta.dirname, `${program}.${extension}`), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: [...process.execArgv, ...flags],
  });
  const exited = once(child, 'exit');
  const died = exited.then(([code, signal]: unknown[]) => {
    throw new Error(`${program} ended with ${String(code ?? signal)}`);
  });
  died.catch(() => undefined); // avoids an unhandled rejection
  return {
    pid: child.pid ?? 0,
    died,
    async ask<Answer>(message: object) {
      const answered = Promise.race([once(child, 'message'), died]);
      child.send(message);
      const [answer] = (await answered) as [{ readonly error?: string; readonly value?: Answer }];
      if (answer.error !== undefined) throw new Error(`${program}: ${answer.error}`);
      return answer.value as Answer;
    },
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** Answers messages of `Child.ask`. The process ends with its parent. */
export function answerParent<Message>(answer: (message: Message) => unknown): void {
  process.on('message', (message: Message) => {
    (async () => answer(message))().then(
      (value) => process.send?.({ value: value ?? null }),
      (error: unknown) => process.send?.({ error: String(error) }),
    );
  });
  process.once('disconnect', () => process.exit(0));
}
