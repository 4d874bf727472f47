import { unescape } from 'node:querystring';
import type { Options } from 'amqplib';
import { urlPerHost } from '@opentill/contracts/server-url';

export interface HostRotation {
  /** amqplib reads it at each try to connect, so it always has the current host. */
  readonly address: Options.Connect;
  /** For logs. */
  current(): string;
  next(): void;
}

/** Begins at a random host, so that the links of all processes are spread over the cluster. */
export function rotateHosts(url: string, heartbeatSeconds: number, random = Math.random): HostRotation {
  const [first, ...others] = urlPerHost(url).map((one) => new URL(one)) as [URL, ...URL[]];
  const hosts = [first, ...others].map(({ hostname, port, protocol }) => ({
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (protocol === 'amqps:' ? 5671 : 5672),
  }));
  let place = Math.floor(random() * hosts.length);
  const at = () => hosts[place] ?? { hostname: '', port: 0 };
  const { protocol, username, password, pathname, searchParams } = first;
  return {
    address: {
      protocol: protocol.slice(0, -1),
      // Without both, amqplib uses RabbitMQ's default user.
      ...((username !== '' || password !== '') && {
        username: unescape(username),
        password: unescape(password),
      }),
      vhost: pathname.slice(1), // amqplib decodes it
      heartbeat: heartbeatSeconds,
      ...Object.fromEntries(searchParams), // amqplib converts the numbers
      get hostname() {
        return at().hostname;
      },
      get port() {
        return at().port;
      },
    },
    current: () => `${at().hostname}:${at().port}`,
    next: () => void (place = (place + 1) % hosts.length),
  };
}
