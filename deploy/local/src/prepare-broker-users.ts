import { EVENTS_EXCHANGE, permissions } from '@opentill/contracts/topology';
import { GatewayError } from '@opentill/domain/gateway-error';
import { BROKER_SERVICES, type BrokerService } from './gateway-options.ts';

/** - `BROKER_USERS_REFUSED`: the broker's HTTP API does not take a user; the message says what it answered. */
export type BrokerUsersErrorCode = 'BROKER_USERS_REFUSED';

const REQUEST_TIMEOUT_MS = 20_000;

/** The name of a service's user. */
export function brokerUser(service: BrokerService): string {
  return `opentill-${service}`;
}

/**
 * Gives each service its own user, who may publish that service's events and read its queues, and no more: what the
 * topology computes from the catalog of events. Done again it changes nothing. Throws BROKER_USERS_REFUSED.
 */
export async function prepareBrokerUsers(
  managementUrl: string,
  passwords: Readonly<Record<BrokerService, string>>,
): Promise<void> {
  const url = new URL(managementUrl);
  const authorization = `Basic ${btoa(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`)}`;
  const put = async (path: string, body: object): Promise<void> => {
    const response = await fetch(`${url.origin}/api${path}`, {
      method: 'PUT',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const answer = await response.text();
    if (response.ok) return;
    throw new GatewayError<BrokerUsersErrorCode>(
      'BROKER_USERS_REFUSED',
      `RabbitMQ answered ${response.status} to ${path}: ${answer}`,
      { retryable: false },
    );
  };
  await Promise.all(
    BROKER_SERVICES.map(async (service) => {
      const user = brokerUser(service);
      const { write, read, topicWrite } = permissions(service);
      await put(`/users/${user}`, { password: passwords[service], tags: '' });
      await put(`/permissions/%2F/${user}`, { configure: '^$', write, read });
      await put(`/topic-permissions/%2F/${user}`, {
        exchange: EVENTS_EXCHANGE,
        write: topicWrite,
        read: '^$',
      });
    }),
  );
}
