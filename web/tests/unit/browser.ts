// The few names of a browser that modules read when they are loaded.
const kept = new Map<string, string>();

Object.assign(globalThis, {
  window: globalThis,
  addEventListener: () => {},
  removeEventListener: () => {},
  location: new URL("http://127.0.0.1:7070/"),
  localStorage: {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
    removeItem: (name: string) => kept.delete(name),
  },
});

// A channel that is open keeps Node from ending.
Reflect.deleteProperty(globalThis, "BroadcastChannel");

export {};
