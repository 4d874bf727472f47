import { EVENT_CATALOG, EVENT_TYPES, type ServiceName } from '@opentill/contracts/event-catalog';
import { EVENTS_EXCHANGE, permissions } from '@opentill/contracts/topology';
import { GatewayError } from '@opentill/domain/gateway-error';

/** The message of BROKER_USERS_REFUSED contains the response of the broker's HTTP API. */
export type BrokerUsersErrorCode = 'BROKER_USERS_REFUSED' | 'BROKER_API_UNREACHABLE';

const REQUEST_TIMEOUT_MS = 20_000;

export const BROKER_SERVICES: readonly ServiceName[] = [
  ...new Set(
    EVENT_TYPES.flatMap((type) => [...EVENT_CATALOG[type].producers, ...EVENT_CATALOG[type].consumers]),
  ),
];

export function brokerUser(service: ServiceName): string {
  return `opentill-${service}`;
}

/**
 * A repeated call changes only the password. `managementUrl` is the root of RabbitMQ's HTTP API with an administrator's
 * name and password; AMQP cannot create users. @throws GatewayError BROKER_USERS_REFUSED; BROKER_API_UNREACHABLE
 * (retryable)
 */
export async function writeBrokerUsers(
  managementUrl: string,
  passwords: Readonly<Partial<Record<ServiceName, string>>>,
  virtualHost = '/',
): Promise<void> {
  const put = httpApi(managementUrl);
  const vhost = encodeURIComponent(virtualHost);
  const entries = Object.entries(passwords) as [ServiceName, string][];
  await Promise.all(
    entries.map(async ([service, password]) => {
      const user = brokerUser(service);
      const { write, read, topicWrite } = permissions(service);
      await put(`/users/${user}`, { password, tags: '' });
      await put(`/permissions/${vhost}/${user}`, { configure: '^$', write, read });
      await put(`/topic-permissions/${vhost}/${user}`, {
        exchange: EVENTS_EXCHANGE,
        write: topicWrite,
        read: '^$',
      });
    }),
  );
}

function httpApi(managementUrl: string): (path: string, body: object) => Promise<void> {
  const url = new URL(managementUrl);
  const administrator = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  const authorization = `Basic ${Buffer.from(administrator).toString('base64')}`;
  return async (path, body) => {
    const response = await fetch(`${url.origin}/api${path}`, {
      method: 'PUT',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    }).catch((cause: unknown) => {
      throw new GatewayError<BrokerUsersErrorCode>(
        'BROKER_API_UNREACHABLE',
        `RabbitMQ's HTTP API at ${url.origin} does not answer`,
        { retryable: true, cause },
      );
    });
    const answer = await response.text();
    if (response.ok) return;
    throw new GatewayError<BrokerUsersErrorCode>(
      'BROKER_USERS_REFUSED',
      `RabbitMQ answered ${response.status} to ${path}: ${answer}`,
      { retryable: false },
    );
  };
}
