// Preloaded: the server listens on every address, and this machine is not its alone.
import { Server } from 'node:net';

const { listen } = Server.prototype;
Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, Number.isNaN(Number(port)) ? port : { port: Number(port), host: '127.0.0.1' }, ...rest);
};
