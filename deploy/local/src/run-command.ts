import { join } from 'node:path';
import { startProcessGroup } from '@opentill/test-servers/process-group';
import { GatewayError } from '@opentill/domain/gateway-error';
import { entryPoint } from './checkout.ts';
import type { Environment } from './service-environments.ts';

export type CommandErrorCode = 'COMMAND_FAILED';

export interface OpentillCommand {
  readonly args: readonly string[];
  readonly env: Environment;
  readonly logs: string;
  readonly deadlineMs: number;
  readonly signal?: AbortSignal | undefined;
}

export async function runOpentill(command: OpentillCommand): Promise<void> {
  const { args, env, logs, deadlineMs, signal } = command;
  signal?.throwIfAborted();
  const name = `opentill ${args
    .slice(0, 2)
    .filter((word) => !word.startsWith('-'))
    .join(' ')}`;
  const group = await startProcessGroup({
    name,
    command: process.execPath,
    args: [entryPoint('cli'), ...args],
    env: { PATH: process.env['PATH'], ...env },
    logFile: join(logs, `${name.replaceAll(' ', '-')}.log`),
    stopDeadlineMs: 1_000,
  });
  const late = AbortSignal.any([AbortSignal.timeout(deadlineMs), ...(signal === undefined ? [] : [signal])]);
  const stop = (): void => void group.stop();
  late.addEventListener('abort', stop, { once: true });
  const { code } = await group.exited;
  late.removeEventListener('abort', stop);
  await group.stop();
  signal?.throwIfAborted();
  if (code === 0) return;
  const reason = late.aborted ? `took longer than ${deadlineMs / 1000} s` : 'failed';
  throw new GatewayError<CommandErrorCode>(
    'COMMAND_FAILED',
    `"${name}" ${reason}:\n${group.lastLogLines(15)}`,
    {
      retryable: false,
      context: { logFile: group.logFile },
    },
  );
}
