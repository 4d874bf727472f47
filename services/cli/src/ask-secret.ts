import { cliError, usage } from './context.ts';
import { createTypedSecret } from './typed-secret.ts';

const BELL = '\u0007';

/** Does not echo. @throws GatewayError NO_TERMINAL when standard input is no terminal */
export async function askSecretOnTerminal(question: string): Promise<string> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY) {
    throw cliError(
      'NO_TERMINAL',
      'There is no terminal to read a secret from: give --passphrase-file (--words-file for words).',
    );
  }
  stderr.write(`${question}: `);
  stdin.setRawMode(true);
  stdin.resume();
  stdin.setEncoding('utf8');
  try {
    return await readUntilEnter(stdin, () => stderr.write(BELL));
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}

function readUntilEnter(stdin: NodeJS.ReadStream, onIgnored: () => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const read = createTypedSecret(onIgnored);
    const onData = (chunk: string): void => {
      const typed = read(chunk);
      if (typed.kind === 'MORE') return;
      stdin.off('data', onData);
      if (typed.kind === 'ENTERED') resolve(typed.text);
      else reject(cancelled());
    };
    stdin.on('data', onData);
  });
}

function cancelled(): Error {
  return usage('Cancelled.');
}
