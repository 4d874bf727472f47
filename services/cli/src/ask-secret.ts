import { GatewayError } from '@opentill/domain/gateway-error';
import type { CliErrorCode } from './context.ts';

/**
 * Asks for a secret on the terminal without showing it.
 * @throws GatewayError NO_TERMINAL when standard input is no terminal
 */
export async function askSecretOnTerminal(question: string): Promise<string> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY) {
    throw new GatewayError<CliErrorCode>(
      'NO_TERMINAL',
      'There is no terminal to ask on: give --passphrase-file (--words-file for words).',
      {
        retryable: false,
      },
    );
  }
  stderr.write(`${question}: `);
  stdin.setRawMode(true);
  stdin.resume();
  stdin.setEncoding('utf8');
  try {
    return await readUntilEnter(stdin);
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}

function readUntilEnter(stdin: NodeJS.ReadStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = '';
    const onData = (chunk: string): void => {
      for (const char of chunk) {
        if (char === '\r' || char === '\n') return finish(() => resolve(typed));
        if (char === '\u0003' || char === '\u0004') return finish(() => reject(cancelled()));
        typed = char === '\u007f' || char === '\b' ? typed.slice(0, -1) : typed + char;
      }
    };
    const finish = (settle: () => void): void => {
      stdin.off('data', onData);
      settle();
    };
    stdin.on('data', onData);
  });
}

function cancelled(): Error {
  return new GatewayError<CliErrorCode>('CLI_USAGE', 'Cancelled.', { retryable: false });
}
