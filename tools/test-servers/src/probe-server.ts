import { connect } from 'node:net';

const PROBE_DEADLINE_MS = 2_000;

export async function acceptsTcp(port: number, host = '127.0.0.1'): Promise<boolean> {
  return probe(port, host, undefined, () => true);
}

/** True if the broker responds to the AMQP 0-9-1 header with connection.start (class 10, method 10). */
export async function answersAmqp(port: number, host = '127.0.0.1'): Promise<boolean> {
  const header = Buffer.from([0x41, 0x4d, 0x51, 0x50, 0, 0, 9, 1]);
  return probe(port, host, header, (answer) => answer[0] === 1 && answer.readUInt32BE(7) === 0x000a_000a);
}

/** True if the server requests authentication ('R'). A starting or recovering one responds 'E' (57P03). */
export async function answersPostgres(port: number, user: string, host = '127.0.0.1'): Promise<boolean> {
  const parameters = Buffer.from(`user\0${user}\0database\0postgres\0\0`);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + parameters.length, 0);
  head.writeUInt32BE(196_608, 4); // protocol 3.0
  return probe(port, host, Buffer.concat([head, parameters]), (answer) => answer[0] === 0x52);
}

async function probe(
  port: number,
  host: string,
  request: Buffer | undefined,
  accept: (answer: Buffer) => boolean,
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host, timeout: PROBE_DEADLINE_MS });
    const finish = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => (request === undefined ? finish(true) : socket.write(request)));
    socket.once('data', (answer) => finish(answer.length > 0 && accept(answer)));
    socket.once('timeout', () => finish(false));
    socket.once('error', () => finish(false));
    socket.once('close', () => finish(false));
  });
}
