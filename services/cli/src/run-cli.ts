import { CommanderError } from 'commander';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { CliContext } from './context.ts';
import { oneLine, plainLine } from './print-table.ts';
import { createProgram } from './program.ts';

const OPERATOR_ERROR = 1;
const RETRYABLE_ERROR = 75;

/** @returns the exit code: 0; 1: the operator has to correct something; 75: the same command may succeed later */
export async function runCli(args: readonly string[], given: CliContext): Promise<number> {
  const context: CliContext = {
    ...given,
    // Text of shops, nodes and servers stays on one line and cannot control the terminal.
    print: (line) => given.print(plainLine(line)),
    printError: (line) => given.printError(oneLine(line)),
  };
  try {
    await createProgram(context).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode; // commander has printed the reason
    if (!(error instanceof GatewayError) && !isSystemError(error)) throw error;
    context.printError(`opentill: ${describe(error)}`);
    return error instanceof GatewayError && error.retryable ? RETRYABLE_ERROR : OPERATOR_ERROR;
  }
}

/** For example a missing file. Node's message names the path. */
function isSystemError(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'syscall' in error;
}

function describe(error: unknown): string {
  const parts: string[] = [];
  for (let cause = error as Partial<AggregateError> | undefined; cause; cause = cause.cause as typeof cause) {
    const messages = cause.errors as readonly Partial<Error>[] | undefined;
    for (const { message = '' } of messages ?? [cause]) {
      const line = message.replaceAll(/\s*\n\s*/g, ' ').trim();
      if (line !== '' && !parts.some((part) => part.includes(line))) parts.push(line);
    }
  }
  return parts.join(': ');
}
