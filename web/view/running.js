// Shows how far studies are: the server sends the part of the page that changes.
(() => {
  "use strict";
  const place = document.getElementById("running");
  const events = new EventSource("/running/events");
  events.onmessage = (event) => {
    place.innerHTML = JSON.parse(event.data);
  };
})();
