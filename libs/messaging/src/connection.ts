import type { Logger } from '@opentill/runtime/logger';
import { openLink, type ChannelLink, type LinkOptions, type LinkState } from './channel-link.ts';
import { messagingError } from './messaging-error.ts';
import { keepTopology } from './topology-keeper.ts';

/** connecting: at least one link has no channel. blocked: the broker blocks publishers. */
export type BrokerState = 'connecting' | 'connected' | 'blocked' | 'closed';

/** One connection for the publisher and one for each consumer. */
export interface Broker {
  readonly state: BrokerState;
  /** @throws GatewayError BROKER_UNAVAILABLE or BROKER_REFUSED after `timeoutMs` (default 10 000) */
  ready(timeoutMs?: number): Promise<void>;
  /** Takes up to 2 s. Stop relays and consumers first. */
  close(): Promise<void>;
  /** No queue takes a message: declares the topology again, if the user has permission. */
  topologyMissing(what: string): void;
  openLink(options: OwnLinkOptions): ChannelLink;
}

type OwnLinkOptions = Omit<LinkOptions, 'url' | 'logger' | 'onMissing'>;

export interface BrokerOptions {
  /** `amqp[s]://user:password@host:port/virtual-host`; may name several hosts, separated by commas. */
  readonly url: string;
  readonly logger: Logger;
  readonly name: string;
}

/** Connects when publishers and consumers ask for a link. */
export function connectBroker(options: BrokerOptions): Broker {
  const links = new Set<ChannelLink>();
  const topology = keepTopology(options);
  let closed = false;

  function open(linkOptions: OwnLinkOptions): ChannelLink {
    if (closed) throw messagingError('BROKER_UNAVAILABLE', 'the broker connection is closed');
    const link = openLink({
      ...linkOptions,
      name: `${options.name} ${linkOptions.name}`,
      url: options.url,
      logger: options.logger,
      onMissing: topology.missing,
    });
    links.add(link);
    return link;
  }

  return {
    get state() {
      return closed ? 'closed' : stateOf([...links].map((link) => link.state));
    },
    async ready(timeoutMs = 10_000) {
      if (links.size === 0) open({ name: 'probe' });
      const live = [...links].filter((link) => link.state !== 'closed');
      await Promise.all(live.map((link) => link.untilOpen(timeoutMs)));
    },
    async close() {
      closed = true;
      await Promise.all([topology.stop(), ...[...links].map((link) => link.close())]);
    },
    topologyMissing: topology.missing,
    openLink: open,
  };
}

function stateOf(links: readonly LinkState[]): BrokerState {
  const live = links.filter((state) => state !== 'closed');
  if (live.length === 0 || live.includes('connecting')) return 'connecting';
  return live.includes('blocked') ? 'blocked' : 'connected';
}
